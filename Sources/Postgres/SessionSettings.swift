/// Settings that change the meaning of a statement or of a value's text. A database or a user may
/// have other defaults for the application that was there first, so each session sets its own.
package enum SessionSettings {
  /// Calls of `set_config`, to be selected. If `$1` is true they end with the transaction.
  package static let meaning: SQL = """
    set_config('standard_conforming_strings', 'on', $1), set_config('row_security', 'on', $1),
      set_config('transform_null_equals', 'off', $1), set_config('array_nulls', 'on', $1),
      set_config('datestyle', 'ISO', $1), set_config('intervalstyle', 'postgres', $1),
      set_config('bytea_output', 'hex', $1),
      set_config('default_transaction_isolation', 'read committed', $1),
      set_config('default_transaction_deferrable', 'off', $1)
    """
}
