import Testing

@testable import Migrator

@Suite struct ScriptTests {
  private func texts(_ script: String) -> [String] {
    ScriptReader.statements(of: script).map(\.text)
  }

  @Test func `statements are split at semicolons and have line numbers`() {
    let statements = ScriptReader.statements(of: "SELECT 1;\n\n  SELECT 2\n  ;\n", firstLine: 10)
    #expect(
      statements == [
        Statement(text: "SELECT 1", line: 10), Statement(text: "SELECT 2", line: 12),
      ])
  }

  @Test func `comments are not statements, and semicolons in them split nothing`() {
    #expect(
      texts("-- a; b\nSELECT 1 -- c; d\n;/* e; /* f; */ g; */ SELECT 2; -- end")
        == ["SELECT 1 -- c; d", "SELECT 2"])
  }

  @Test(arguments: [
    "SELECT 'a;b', 'it''s; fine'",
    #"SELECT E'quote \'; not the end'"#,
    #"SELECT 'backslash \'"#,
    #"SELECT "a;b" FROM t"#,
    "DO $$ BEGIN; END $$",
    "DO $body$ SELECT '$$;'; $body$",
    "SELECT $1; ".trimmed,
    "SELECT a$b$c, 'x;y'",
    "SELECT 'ไทย; ข้อความ'",
  ])
  func `semicolons in quotes split nothing`(statement: String) {
    #expect(texts(statement + ";SELECT 2") == [statement, "SELECT 2"])
  }

  @Test func `an unterminated quote or comment is one statement, and parsing ends`() {
    for open in ["'abc;", "\"abc;", "$$abc;", "/* abc;", "$tag$ abc; $tog$"] {
      #expect(texts("SELECT 1;" + open).count <= 2)
    }
  }
}

extension String {
  fileprivate var trimmed: String { String(prefix { $0 != ";" }) }
}
