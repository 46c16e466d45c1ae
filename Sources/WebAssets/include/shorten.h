// What makes packed sources smaller without making them say something else: short names for the
// variables of a script, values in place of constants in a sheet.
#pragma once

#include <stdbool.h>

/// A class becomes a function that returns its object: its private members are variables of that
/// function, `this` is the object, and what its constructor only keeps stays a parameter. A constant
/// (`const NAME = …` of the module) with one use becomes its value, a field that nobody reads goes,
/// and so do the braces of a single statement. Relies on how our sources are written: no `extends`,
/// `static` or private getter, no `this` but that of a class, no value of a field that names another
/// one, no effect in the value of a field that nobody reads. `out` has room for twice the script.
unsigned long chirrup_open_classes(
    const unsigned char *script, unsigned long length, unsigned char *out);

/// Every variable that is not the platform's gets a name of one or two letters. Two variables
/// share one where neither could be taken for the other, so most have a single letter. Private
/// names are each class's own. Properties keep their names, so `{ id }` becomes `{id:a}`, but for those
/// in `inner`, separated by spaces, which no platform, wire or shelf ever sees. Relies on
/// how our sources are written: no labels, no `switch` block, no `var`, no statement without its
/// semicolon, no local variable that is named like a global we use. Returns the length in
/// `out`, which has room for twice the script.
unsigned long chirrup_shorten(
    const unsigned char *script, unsigned long length, const char *inner, unsigned char *out);

/// Gives classes one letter, in a sheet and in the strings of a script that name them as `'p.name'`:
/// those in `looks`, separated by spaces, at most 52, each in the order of the list. In place;
/// returns the new length.
unsigned long chirrup_rename_looks(
    unsigned char *bytes, unsigned long length, const char *looks, bool is_script);

/// A custom property that has one definition, and one use or a value as short as its name, is
/// replaced by that value: nothing can override it. Those that begin with `kept` stay. In place;
/// returns the new length.
unsigned long chirrup_inline(unsigned char *sheet, unsigned long length, const char *kept);
