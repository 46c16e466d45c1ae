import Chat
import Directory
import Engine
import Kernel
import Primitives
import Settings
import Tokens

/// Turns a token into a member: verifies it, applies the limits, and checks its origin.
/// `Revocations` then checks it in the database.
enum TokenAdmission {
  typealias Outcome = Result<(Member, Standing.Subject), TokenRefusal>

  /// - Returns: the token's member, unless a limit is exceeded, the token is invalid, or the page's
  ///   origin is not the token's. Takes about 5 µs.
  static func admit(
    _ token: [UInt8], of caller: inout Caller, _ context: GatewayContext, _ turn: Turn
  ) -> Outcome {
    guard context.admission.mayVerify(caller.peer.ip, now: turn.now) else {
      return .failure(.tooFast)
    }
    let verified: VerifiedToken
    do throws(TokenFault) {
      verified = try context.tokens.verify(token, now: turn.wall)
    } catch {
      return .failure(error == .expired ? .expired : .invalid)
    }
    switch verified.principal {
    case .visitor: return admitVisitor(verified, &caller, context.admission)
    case .operator: return admitOperator(verified)
    }
  }

  /// Browsers send the Origin truthfully, so a token issued for one site does not work on another
  /// (faults A05). Other programs can send any origin.
  private static func admitVisitor(
    _ token: VerifiedToken, _ caller: inout Caller, _ admission: Admission
  ) -> Outcome {
    guard case .visitor(let id, let workspace, let sessions, let name) = token.principal else {
      return .failure(.invalid)
    }
    if let bound = token.binding.origin, let origin = caller.origin, bound != origin {
      return .failure(.foreignOrigin)
    }
    switch admission.enter(visitor: id, workspace: workspace, &caller.permit) {
    case .admitted: break
    case .tooManyOfVisitor: return .failure(.tooManyConnections)
    case .tooManyOfWorkspace: return .failure(.workspaceFull)
    }
    let member = Member(
      person: Person(role: .visitor, id: id, name: Array(name.utf8)), workspace: workspace,
      sessions: sessions, expiresAt: token.expiresAt, key: token.key,
      address: admission.quotaKey(of: caller.peer.ip))
    return .success((member, .visitor(id, workspace: workspace)))
  }

  private static func admitOperator(_ token: VerifiedToken) -> Outcome {
    guard case .operator(let id, let workspace, let name, let role) = token.principal else {
      return .failure(.invalid)
    }
    guard role != Operator.roleBeforeOwnPassword else { return .failure(.passwordChangeRequired) }
    guard role != Operator.roleBeforeSecondFactor else { return .failure(.secondFactorRequired) }
    let member = Member(
      person: Person(role: .operator_, id: id, name: Array(name.utf8)), workspace: workspace,
      sessions: [], expiresAt: token.expiresAt, key: token.key)
    let login = OperatorLogin(
      id: id, workspace: workspace, role: role, session: token.binding.session,
      credential: token.binding.credential)
    return .success((member, .login(login)))
  }
}
