/// The time of the day in which the gateway cares for its database: `02:00-05:00 Europe/Berlin`.
///
/// The times are those of the clocks in the time zone. When they change, a window that begins in
/// the hour that is left out is shorter, or missing on that day, and the hour that comes twice
/// counts twice. PostgreSQL knows the zones; here they are names.
public struct MaintenanceWindow: Sendable, Equatable, CustomStringConvertible {
  /// Minutes since midnight. A window whose end is not after its begin lasts over midnight.
  public var begin: Int
  public var end: Int
  public var zone: String

  public static let utc = "UTC"
  private static let secondsOfDay: Int64 = 86_400

  public init(begin: Int, end: Int, zone: String = MaintenanceWindow.utc) {
    self.begin = begin
    self.end = end
    self.zone = zone
  }

  /// The seconds until the window closes; nil while it is closed.
  ///
  /// - Parameter second: of the day, in the zone.
  public func secondsLeft(at second: Int64) -> Int64? {
    let day = MaintenanceWindow.secondsOfDay
    func after(_ minute: Int) -> Int64 { (second - Int64(minute) * 60 + day) % day }
    let length = (Int64(end - begin) * 60 + day) % day
    let elapsed = after(begin)
    return elapsed < length ? length - elapsed : nil
  }

  public var description: String {
    let times = "\(MaintenanceWindow.text(begin))-\(MaintenanceWindow.text(end))"
    return zone == MaintenanceWindow.utc ? times : "\(times) \(zone)"
  }

  private static func text(_ minute: Int) -> String {
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(digits(minute / 60)):\(digits(minute % 60))"
  }
}
