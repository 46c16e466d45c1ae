// What makes packed sources smaller without making them say something else: short names for the
// variables of a script, values in place of constants in a sheet.
#pragma once

/// Every variable that is not the platform's gets a name of one or two letters. Two variables
/// share one where neither could be taken for the other, so most have a single letter. Private
/// names are each class's own. Properties keep their names, so `{ id }` becomes `{id:a}`, but for those
/// in `inner`, separated by spaces, which no platform, wire or shelf ever sees. Relies on
/// how our sources are written: no labels, no `switch` block, no `var`, no statement without its
/// semicolon, no local variable that is named like a global we use. Returns the length in
/// `out`, which has room for twice the script.
unsigned long chirrup_shorten(
    const unsigned char *script, unsigned long length, const char *inner, unsigned char *out);

/// A custom property that has one definition, and one use or a value as short as its name, is
/// replaced by that value: nothing can override it. Those that begin with `kept` stay. In place;
/// returns the new length.
unsigned long chirrup_inline(unsigned char *sheet, unsigned long length, const char *kept);
