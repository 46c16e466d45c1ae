/// Whether the name of `public_url` has an address.
import Kernel

extension DoctorCheck {
  static let dns = DoctorCheck(
    name: "dns", symptom: "browsers cannot find the server",
    remedy: "give the name of public_url an A or AAAA record, or correct public_url"
  ) { examination in
    guard let host = PublicURL.host(examination.settings) else {
      return .skipped("public_url is not set")
    }
    guard IPAddress(host) == nil else { return .ok("\(host) is an address") }
    do throws(HostLookup.Failure) {
      let addresses = try HostLookup.addresses(of: host)
      return .ok("\(host) is \(addresses.map(\.description).joined(separator: ", "))")
    } catch {
      return .failure("\(host): \(error)")
    }
  }
}
