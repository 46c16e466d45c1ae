import Primitives
import Testing

@testable import ObjectStorage

@Suite struct S3ParsingTests {
  @Test(
    "addresses of servers",
    arguments: [
      ("https://s3.eu-central-1.amazonaws.com", "https", "s3.eu-central-1.amazonaws.com"),
      ("https://S3.Example.com:443/", "https", "s3.example.com"),
      ("http://127.0.0.1:9000", "http", "127.0.0.1:9000"),
      ("http://[::1]:9000", "http", "[::1]:9000"), ("http://minio:80", "http", "minio"),
    ])
  func endpoints(text: String, scheme: String, authority: String) throws {
    let endpoint = try #require(S3Endpoint(text))
    #expect(endpoint.scheme == scheme && endpoint.authority == authority)
  }

  @Test(
    "addresses that are refused",
    arguments: [
      "", "s3.example.com", "ftp://s3.example.com", "https://", "https://user@s3.example.com",
      "https://s3.example.com/bucket", "https://s3.example.com?x", "https://s3.example.com:0x1",
      "https://s3.example.com:99999", "https://a b", "https://a\r\nb", "https://[::1",
    ])
  func refusedEndpoints(text: String) { #expect(S3Endpoint(text) == nil) }

  @Test("both styles of an address")
  func styles() throws {
    var settings = S3Settings(
      endpoint: try #require(S3Endpoint("https://s3.example.com")), region: "r", bucket: "files",
      accessKey: "a", secretKey: "s", isPathStyle: true)
    #expect(
      settings.url(path: settings.path(of: "a b/c"), query: "x=1")
        == "https://s3.example.com/files/a%20b/c?x=1")
    settings.isPathStyle = false
    #expect(
      settings.url(path: settings.path(of: "c"), query: "") == "https://files.s3.example.com/c")
  }

  @Test("the elements of an answer, and no others")
  func elements() {
    let document = S3Document(
      Array(
        """
        <?xml version="1.0"?>\n<Error><Codes>no</Codes><Code>Slow&amp;\
        &lt;Down&gt;</Code><Message><b>x</b></Message><Empty></Empty></Error>
        """.utf8))
    #expect(document.isRooted(in: "Error") && !document.isRooted(in: "Err"))
    #expect(document.text(of: "Empty")?.isEmpty == true)
    #expect(document.text(of: "Message") == nil && document.text(of: "UploadId") == nil)
    let error = S3Document(Array("<Error><Code>Slow&amp;&lt;Down&gt;&nbsp;</Code></Error>".utf8))
    #expect(error.text(of: "Code") == "Slow&<Down>&nbsp;")
  }

  @Test("hostile answers are bounded and end")
  func hostile() {
    var random = SystemRandomNumberGenerator()
    let pieces = ["<Code>", "</Code>", "<", ">", "&", "&lt", "<?", "<!", "\u{0}", "x", "<Error"]
    for _ in 0..<2_000 {
      let count = Int.random(in: 0...12, using: &random)
      var bytes = (0..<count).flatMap { _ in Array((pieces.randomElement() ?? "").utf8) }
      if Bool.random() { bytes.append(UInt8.random(in: 0...255)) }
      let document = S3Document(bytes)
      if let text = document.text(of: "Code") { #expect(!text.contains("</Code>")) }
      _ = document.isRooted(in: "Error")
    }
    let long = Array("<Code>".utf8) + [UInt8](repeating: 0x41, count: 3_000)
    #expect(S3Document(long + Array("</Code>".utf8)).text(of: "Code") == nil)
    let many = [UInt8](repeating: UInt8(ascii: "<"), count: 2 << 20)
    #expect(!S3Document(many).isRooted(in: "Error") && S3Document(many).text(of: "Code") == nil)
  }

  @Test("lists of objects are read as a whole, or not at all")
  func lists() {
    func list(_ contents: String) -> [S3Object]? {
      S3Client.objects(
        Array("<?xml version=\"1.0\"?>\n<ListBucketResult>\(contents)</ListBucketResult>".utf8))
    }
    let one =
      "<Contents><Key>a&amp;b</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified></Contents>"
    let object = S3Object(key: "a&b", modifiedAt: 1_369_353_600)
    #expect(list("") == [] && list(one + "<Size>1</Size>" + one) == [object, object])
    for text in [
      "<Contents>", one + "<Contents><Key>x</Key></Contents>",
      "<Contents><Key></Key><LastModified>2013-05-24T00:00:00.000Z</LastModified></Contents>",
      "<Contents><Key>x</Key><LastModified>yesterday</LastModified></Contents>",
    ] {
      #expect(list(text) == nil, "\(text)")
    }
    #expect(S3Client.objects(Array("<Error><Code>x</Code></Error>".utf8)) == nil)
    #expect(S3Client.seconds("2024-02-29T23:59:59Z") == 1_709_251_199)
    #expect(S3Client.seconds("1970-01-01T00:00:00.000Z") == 0)
    #expect(S3Client.seconds("2024-13-01T00:00:00Z") == nil && S3Client.seconds("") == nil)
  }
}
