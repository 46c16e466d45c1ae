import Attachments
import HTTPClient
import JSON
import Primitives
import Testing

@testable import Channels

/// The steps of a menu to LINE as values. `EndToEnd/line.sh` runs them against a platform.
@Suite struct LineMenuTests {
  static let png: [UInt8] =
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
    + [0, 0, 4, 0xB0, 0, 0, 2, 0x58]

  func sync(_ count: Int) -> LineMenuSync {
    let item = #"{"label":"One","type":"message","value":"one"}"#
    let actions = "[" + Array(repeating: item, count: count).joined(separator: ",") + "]"
    let menu = ChannelMenu(
      id: Identifier(high: 1, low: 2), name: "Menu", actions: Array(actions.utf8),
      imageURL: "https://example.com/a.png")
    return LineMenuSync(
      menu, in: Identifier(high: 3, low: 4),
      at: MenuPlace(api: "https://api.example.com", data: "https://data.example.com"),
      headers: ["Authorization: Bearer secret"], milliseconds: 1_000)
  }

  @Test func sizes() {
    let jpeg: [UInt8] =
      [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, 0xC0, 0, 11, 8, 1, 0x2C, 3, 0x20, 1, 1]
    #expect(ImageSize(LineMenuTests.png) == ImageSize(width: 1_200, height: 600))
    #expect(ImageSize(jpeg) == ImageSize(width: 800, height: 300))
    for end in 0..<17 { #expect(ImageSize(Array(jpeg.prefix(end))) == nil) }
    for end in 0..<24 { #expect(ImageSize(Array(LineMenuTests.png.prefix(end))) == nil) }
    #expect(ImageSize([0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0xFF, 0xC0, 0, 11, 8, 1]) == nil)
  }

  @Test(
    "items in rows of up to three",
    arguments: [
      (1, [1]), (3, [3]), (4, [2, 2]), (5, [3, 2]), (7, [3, 2, 2]), (12, [3, 3, 3, 3]),
    ])
  func rows(_ count: Int, _ expected: [Int]) throws {
    var sync = sync(count)
    guard case .fetch(let fetched) = sync.next(after: nil) else {
      Issue.record("the picture is not fetched")
      return
    }
    #expect(!fetched.headers.contains { $0.hasPrefix("Authorization") })
    guard
      case .request(let made) = sync.next(
        after: .answered(status: 200, body: LineMenuTests.png))
    else {
      Issue.record("no rich menu is made")
      return
    }
    let areas = try #require(JSONValue(made.body ?? [])?["areas"]?.array)
    let tops = areas.compactMap { $0["bounds"]?["y"]?.int }
    #expect(Set(tops).sorted().map { top in tops.count { $0 == top } } == expected)
    let pixels = areas.compactMap { area in
      area["bounds"]?["width"]?.int.flatMap { width in
        area["bounds"]?["height"]?.int.map { $0 * width }
      }
    }
    #expect(pixels.reduce(0, +) == 1_200 * 600)
  }

  @Test func anIDThatIsNoPartOfAPathIsRefused() {
    var sync = sync(1)
    _ = sync.next(after: nil)
    _ = sync.next(after: .answered(status: 200, body: LineMenuTests.png))
    let body = Array(#"{"richMenuId":"../message/broadcast"}"#.utf8)
    guard case .request(let next) = sync.next(after: .answered(status: 200, body: body)) else {
      Issue.record("LINE is not tidied up")
      return
    }
    #expect(next.url == "https://api.example.com/v2/bot/richmenu/list")
  }
}
