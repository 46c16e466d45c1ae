import EmbeddedPostgres
import Postgres

/// Chirrup's roles on the server that all tests of the process share. They exist before the first
/// migration, so that no `down` of one test drops them while another test uses them.
public enum Roles {
  public static let prepared = Result<Void, any Error> {
    try BlockingConnection(ScratchCluster.url()).execute(
      script: """
        DO $$ BEGIN
          IF to_regrole('chirrup_reader') IS NULL THEN CREATE ROLE chirrup_reader NOLOGIN; END IF;
          IF to_regrole('chirrup_gateway') IS NULL THEN
            CREATE ROLE chirrup_gateway LOGIN NOINHERIT IN ROLE chirrup_reader;
          END IF;
          COMMENT ON ROLE chirrup_reader IS NULL;
          COMMENT ON ROLE chirrup_gateway IS NULL;
          ALTER ROLE chirrup_gateway LOGIN;
        END $$
        """)
  }

  /// The URL with which a gateway connects: as a user that owns nothing.
  public static func gateway(_ url: String) throws -> String {
    try prepared.get()
    return url.replacing("user=chirrup", with: "user=chirrup_gateway")
  }
}
