/** Features of browsers that the library of TypeScript 4.8 does not describe. */

interface Navigator {
  readonly userActivation?: { readonly hasBeenActive: boolean };
}

interface Element {
  checkVisibility?(): boolean;
}

interface HTMLElement {
  popover?: string | null;
  showPopover?(): void;
}

interface Array<T> {
  findLastIndex(predicate: (value: T, index: number) => boolean): number;
  /** `filter(Boolean)` leaves the falsy values out. */
  filter(predicate: BooleanConstructor): Exclude<T, false | null | undefined | '' | 0>[];
}

declare namespace Intl {
  function supportedValuesOf(key: 'timeZone'): string[];
}

// Passkeys in JSON (WebAuthn, section 5.1).

interface PasskeyFormat {
  parseCreationOptionsFromJSON(options: object): PublicKeyCredentialCreationOptions;
  parseRequestOptionsFromJSON(options: object): PublicKeyCredentialRequestOptions;
}

interface PasskeyCredential extends PublicKeyCredential {
  toJSON(): object;
}
