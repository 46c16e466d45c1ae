/// The listeners of a gateway: opened at the addresses of the settings, or inherited.
public import Kernel
import Logging
public import Settings

extension Gateway {
  /// Creates one listener for each loop and address. For port 0 the kernel chooses the first loop's
  /// port, which the others share. Inherited sockets replace the addresses of their kind.
  static func listen(
    _ context: GatewayContext, _ inherited: [InheritedSocket] = []
  ) throws -> ([[Listener]], Listening) {
    var listeners: [[Listener]] = Array(repeating: [], count: context.loopCount)
    let isShared = context.settings.listenShared
    let plain =
      try share(inherited, .plain, &listeners)
      ?? listen(on: context.settings.listen, .plain, isShared, &listeners)
    let secure =
      try share(inherited, .secure, &listeners)
      ?? listen(on: context.settings.tls.listen, .secure, isShared, &listeners)
    let admin = try share(inherited, .admin, &listeners) ?? listenForAdmin(context, &listeners)
    return (listeners, Listening(plain: plain, secure: secure, admin: admin))
  }

  /// All loops accept from the same inherited sockets. Nil if there are none of this kind.
  private static func share(
    _ inherited: [InheritedSocket], _ kind: Listener.Kind, _ listeners: inout [[Listener]]
  ) throws(Errno) -> [ListenAddress]? {
    let own = inherited.filter { $0.name == kind.rawValue }
    guard !own.isEmpty else { return nil }
    for socket in own {
      let listener = Listener(try socket.duplicate(), kind, isShared: true)
      for index in listeners.indices { listeners[index].append(listener) }
    }
    return own.map(\.listenAddress)
  }

  /// The default address is not essential: a second gateway on this machine starts without it.
  private static func listenForAdmin(
    _ context: GatewayContext, _ listeners: inout [[Listener]]
  ) throws -> [ListenAddress] {
    let wanted = context.settings.adminListen
    do {
      return try listen(on: wanted, .admin, context.settings.listenShared, &listeners)
    } catch let failure as GatewayFailure where wanted == Settings.usualAdminListen {
      context.logger.warning(
        "no metrics: \(failure) Set admin_listen to another address, or to none.")
      return []
    }
  }

  private static func listen(
    on wanted: [ListenAddress], _ kind: Listener.Kind, _ isShared: Bool,
    _ listeners: inout [[Listener]]
  ) throws -> [ListenAddress] {
    var addresses: [ListenAddress] = []
    for address in wanted {
      let host = address.host == "localhost" ? "127.0.0.1" : address.host
      guard let ip = IPAddress(host) else {
        throw GatewayFailure(
          description:
            "listen: \(address.host) is not an IP address. Use one, for example 127.0.0.1.")
      }
      var port = address.port
      for index in listeners.indices {
        do throws(Errno) {
          // The first listener of an address fails if another program uses it.
          let socket = try Sockets.listen(
            on: ip, port: port, backlog: Int32(Acceptor.backlog),
            sharing: isShared || index > 0 ? .others : .later)
          // Accepted sockets inherit it (tcp(7)), which saves a call for each.
          try? socket.setNoDelay()
          port = try socket.localPort()
          listeners[index].append(Listener(socket, kind))
        } catch  where error == .addressInUse {
          throw GatewayFailure(
            description:
              "\(address) is in use by another program or gateway. Stop it, or choose another "
              + "port with --listen. Gateways may share an address: listen_shared in the settings."
          )
        } catch {
          throw GatewayFailure(description: "cannot listen on \(address): \(error)")
        }
      }
      addresses.append(ListenAddress(host: address.host, port: port))
    }
    return addresses
  }
}

extension Settings {
  /// The inherited sockets replace the addresses of their kind.
  public mutating func use(_ inherited: [InheritedSocket]) throws(GatewayFailure) {
    for socket in inherited where Listener.Kind(rawValue: socket.name) == nil {
      let names = Listener.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw GatewayFailure(
        description:
          "the service manager passes a socket with the name \(socket.name) (\(socket.address)). "
          + "Set FileDescriptorName= in its socket unit to one of: \(names).")
    }
    func addresses(_ kind: Listener.Kind) -> [ListenAddress]? {
      let own = inherited.filter { $0.name == kind.rawValue }
      return own.isEmpty ? nil : own.map(\.listenAddress)
    }
    listen = addresses(.plain) ?? listen
    tls.listen = addresses(.secure) ?? tls.listen
    adminListen = addresses(.admin) ?? adminListen
  }
}

extension InheritedSocket {
  var listenAddress: ListenAddress { ListenAddress(host: "\(address.ip)", port: address.port) }
}
