/// Ranges of addresses in CIDR form.
import Kernel
import Testing

@Suite struct AddressRangeTests {
  @Test(
    "an address is inside or outside",
    arguments: [
      ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false),
      ("10.1.2.3/8", "10.9.9.9", true), ("192.0.2.1", "192.0.2.1", true),
      ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "203.0.113.9", true),
      ("0.0.0.0/0", "2001:db8::1", false), ("::/0", "2001:db8::1", true),
      ("::/0", "203.0.113.9", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
      ("2001:db8::/32", "2001:db9::", false), ("2001:db8::/127", "2001:db8::1", true),
      ("2001:db8::/127", "2001:db8::2", false), ("::1", "::1", true),
      ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("172.16.0.0/12", "172.31.255.255", true),
      ("172.16.0.0/12", "172.32.0.0", false), ("2001:db8:0:1::/64", "2001:db8:0:1:f::", true),
    ])
  func contains(_ row: (range: String, address: String, isInside: Bool)) throws {
    let range = try #require(AddressRange(row.range))
    let address = try #require(IPAddress(row.address))
    #expect([range].contains(address) == row.isInside)
  }

  @Test(
    "malformed ranges are refused",
    arguments: [
      "", "/", "10.0.0.0/33", "::1/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "a/8",
    ])
  func malformed(_ text: String) { #expect(AddressRange(text) == nil) }
}
