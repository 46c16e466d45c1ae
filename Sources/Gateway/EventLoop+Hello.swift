import Chat
import Directory
import Engine
import Journal
import Kernel
import Logging
import Postgres
import Primitives
import Settings
import Tokens

/// From a token to a member: verified, admitted, bound to its origin. Then the database has the
/// last word, see `RevocationChecks`.
extension EventLoop {
  /// Some 5 microseconds each, at most one for each connection and `hello`. A visitor who belongs
  /// to another loop is confirmed there: no answer from before its move welcomes a connection.
  mutating func verifyTokens() {
    for verification in engine.effects.takeVerifications() {
      let connection = verification.connection
      guard let socket = sockets.socket(ofConnection: connection.index) else { continue }
      switch admit(socket, verification) {
      case .failure(let refusal): engine.verified(connection, .failure(refusal))
      case .success((let member, _)) where engine.leaves(connection, as: member):
        engine.verified(connection, .success(member))
      case .success((let member, let subject)):
        revocations.add(
          RevocationChecks.TokenCheck(
            socket: sockets.id(at: socket), connection: connection, subject: subject,
            step: .hello(member)))
      }
    }
  }

  private typealias Admission = Result<(Member, Standing.Subject), TokenRefusal>

  /// The token's member, if its address may have one more token verified, the page is the token's,
  /// and its visitor and workspace may have one more connection.
  private mutating func admit(_ socket: SocketIndex, _ verification: Verification) -> Admission {
    guard context.admission.mayVerify(sockets[socket].caller.peer.ip, now: now) else {
      return .failure(.tooFast)
    }
    let token: VerifiedToken
    do throws(TokenFault) {
      token = try context.tokens.verify(verification.token, now: engine.wall)
    } catch {
      return .failure(error == .expired ? .expired : .invalid)
    }
    switch token.principal {
    case .visitor: return admitVisitor(socket, token)
    case .operator: return admitOperator(token)
    }
  }

  /// A browser sends the Origin, so a token that was issued for one site is of no use to the pages
  /// of another (faults A05); a program may say what it likes, and has the token itself.
  private mutating func admitVisitor(
    _ socket: SocketIndex, _ token: VerifiedToken
  ) -> Admission {
    guard case .visitor(let id, let workspace, let sessions, let name) = token.principal else {
      return .failure(.invalid)
    }
    if let bound = token.binding.origin, let origin = sockets[socket].caller.origin, bound != origin
    {
      return .failure(.foreignOrigin)
    }
    switch context.admission.enter(
      visitor: id, workspace: workspace, &sockets[socket].caller.place)
    {
    case .admitted: break
    case .tooManyOfVisitor: return .failure(.tooManyConnections)
    case .tooManyOfWorkspace: return .failure(.workspaceFull)
    }
    let member = Member(
      person: Person(role: .visitor, id: id, name: Array(name.utf8)), workspace: workspace,
      sessions: sessions, expiresAt: token.expiresAt)
    return .success((member, .visitor(id, workspace: workspace)))
  }

  private func admitOperator(_ token: VerifiedToken) -> Admission {
    guard case .operator(let id, let workspace, let name, let role) = token.principal else {
      return .failure(.invalid)
    }
    guard role != Operator.roleBeforeOwnPassword else { return .failure(.passwordChangeRequired) }
    let member = Member(
      person: Person(role: .operator_, id: id, name: Array(name.utf8)), workspace: workspace,
      sessions: [], expiresAt: token.expiresAt)
    let login = OperatorLogin(
      id: id, workspace: workspace, role: role, session: token.binding.session,
      credential: token.binding.credential)
    return .success((member, .login(login)))
  }
}
