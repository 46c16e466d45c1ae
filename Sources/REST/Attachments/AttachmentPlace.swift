/// Who uploads, and into which conversation: a visitor into their own, an operator or an API key
/// into one of the workspace. What differs between them ends here.
import Attachments
import Chat
import Primitives

struct AttachmentPlace: Sendable {
  var uploader: Uploader
  var request: APIRequest
  var parameters: PathParameters
  /// Of the message.
  var role: Role
  var name: String

  /// The `{attachment}` of the path.
  var key: AttachmentKey {
    AttachmentKey(workspace: uploader.workspace, id: parameters.id("attachment"))
  }

  init(_ call: Call) {
    uploader = Uploader(
      workspace: call.workspace, session: call.id, id: call.caller.id, isVisitor: false)
    request = call.request
    parameters = call.parameters
    role = call.caller.senderRole
    name = call.caller.name
  }

  /// - Parameter session: the conversation that the path names, which was checked.
  init(_ call: VisitorCall, session: Identifier) {
    uploader = Uploader(
      workspace: call.workspace, session: session, id: call.visitor, isVisitor: true)
    request = call.request
    parameters = call.parameters
    role = .visitor
    name = call.name
  }
}
