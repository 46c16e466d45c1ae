// What makes packed sources smaller without making them say something else: short names for the
// variables of a script, values in place of constants in a sheet.
#pragma once

/// Every variable that is not the platform's gets a name of one or two letters, the same one
/// wherever it stands, so that scopes need not be understood. Properties keep their names:
/// `{ id }` becomes `{id:a}`. Relies on how our sources are written: no labels, no `switch` block,
/// no local variable that is named like a global we use. Returns the length in `out`, which has
/// room for twice the script.
unsigned long chirrup_shorten(
    const unsigned char *script, unsigned long length, unsigned char *out);

/// A custom property that has one definition, and one use or a value as short as its name, is
/// replaced by that value: nothing can override it. Those that begin with `kept` stay. In place;
/// returns the new length.
unsigned long chirrup_inline(unsigned char *sheet, unsigned long length, const char *kept);
