// Part of the module Channels as the target ChannelEvents has it: the platforms without their
// requests, which need more modules.

public struct LineChannel {
  public init() {}
}

public struct TelegramChannel {
  public init() {}
}
