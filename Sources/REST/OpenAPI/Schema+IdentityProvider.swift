/// Schemas of the identity provider of a workspace, and of the sign-in with it.
extension Schema {
  private static let groupRole = object(["group": text, "role": role]).named("GroupRole")

  static let identityProvider = object([
    "redirect_uri": text.orNull.described(
      "To register at the provider; null if the gateway does not know its address."),
    "identity_provider": object([
      "enabled": bool, "label": text, "issuer": text, "client_id": text,
      "scopes": array(of: text), "groups_claim": text, "group_roles": array(of: groupRole),
      "default_role": role.orNull, "create_members": bool, "take_roles_back": bool,
      "password_login": bool, "trust_second_factor": bool, "required_acr": text.orNull,
      "required_amr": text.orNull,
    ]).orNull,
  ]).named("IdentityProvider")

  static let identityProviderChange = input(
    [
      "label": string(1...APILimits.providerLabelBytes).described(
        "For the button: “Sign in with …”."),
      "issuer": string(
        1...APILimits.issuerBytes, pattern: #"^https?://[!->@-~]+$"#, format: "issuer"
      ).described(
        "As in the provider's discovery document, which must be reachable. http:// only if the "
          + "gateway's administrator allows private networks."),
      "client_id": string(1...APILimits.clientIDBytes),
    ],
    optional: [
      "client_secret": string(1...APILimits.clientSecretBytes).described(
        "Required unless one for the same issuer is stored. Never returned."),
      "enabled": bool,
      "scopes": array(of: string(1...APILimits.claimNameBytes), 0...16).described(
        "Besides openid, email and profile."),
      "groups_claim": string(0...APILimits.claimNameBytes).described(
        "The claim with the groups; empty: none."),
      "group_roles": array(
        of: input(["group": string(1...APILimits.groupBytes), "role": role]),
        0...APILimits.groupRoles
      ).described("The highest role counts."),
      "default_role": role.orNull.described("Of people in none of the groups; null: none."),
      "create_members": bool.described("Whether unknown people become members."),
      "take_roles_back": bool.described(
        "Whether a sign-in lowers a role above that of the groups, and refuses people without "
          + "one; else it only raises roles."),
      "password_login": bool.described(
        "Whether members log in with a password or passkey, too. Owners always can."),
      "trust_second_factor": bool.described(
        "Whether no second factor of Chirrup follows the provider's login."),
      "required_acr": string(1...APILimits.claimNameBytes).orNull,
      "required_amr": string(1...APILimits.claimNameBytes).orNull,
    ]
  ).named("IdentityProviderChange")

  static let providerButton = object(["label": text, "password_login": bool])
    .named("ProviderButton")
  static let providerBegin = input(["workspace": string(1...APILimits.nameBytes)])
    .named("ProviderBegin")
  static let providerAddress = object(["url": text]).named("ProviderAddress")
  static let providerAnswer = input(
    ["state": string(1...APILimits.secretBytes)],
    optional: [
      "code": string(1...APILimits.codeOfProviderBytes),
      "iss": string(0...APILimits.issuerBytes),
      "error": string(1...APILimits.nameBytes),
    ]
  ).named("ProviderAnswer")
}
