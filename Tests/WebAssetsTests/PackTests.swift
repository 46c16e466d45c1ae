import Testing

@Suite("Packing of browser sources")
struct PackTests {
  @Test("comments, indentation and needless spaces go")
  func spaces() {
    let source = """
      // What it is for.
      /** @param {string} a */
      function f(a, b) { // adds
        const text = a /* here */ + b;
        return text;
      }

      """
    #expect(packed(modules: [source]) == "function f(a,b){const text=a+b;return text;}\n")
  }

  @Test("strings and templates stay as they are")
  func strings() {
    let source = "const a = 'x // y  \\' /* z */', b = `p  ${ c + `q  ${ d }` } // r`;\n"
    #expect(
      packed(modules: [source]) == "const a='x // y  \\' /* z */',b=`p  ${c+`q  ${d}`} // r`;\n")
  }

  @Test("signs that would melt into others keep their space")
  func signs() {
    #expect(packed(modules: ["a + +b; c - -d; e++ + f;\n"]) == "a+ +b;c- -d;e++ +f;\n")
  }

  @Test("a line break that may end a statement stays (ECMA-262 §12.10)")
  func lineBreaks() {
    #expect(packed(modules: ["a = b\n\n  c()\n"]) == "a=b\nc()\n")
  }

  @Test("modules become one: imports go, only the last exports, private names are shared")
  func joined() {
    let first =
      "export const one = 1;\nexport class A { #name = 1; other() { return this.#name; } }\n"
    let last = """
      import { one } from './one.js';

      export class B { #name = one; #more; }

      """
    #expect(
      packed(modules: [first, last])
        == "const one=1;class A{#a=1;other(){return this.#a;}}\nexport class B{#a=one;#b;}\n")
  }

  @Test("a sheet keeps the spaces that mean something")
  func sheets() {
    let source = """
      /* Both themes. */
      :host { --l: initial; --d: ; }
      .a .b:hover, .c > .d { margin: calc(-1 * var(--s4)) auto; }

      """
    #expect(
      packed(styles: [source])
        == ":host{--l:initial;--d: ;}.a .b:hover,.c>.d{margin:calc(-1 * var(--s4)) auto;}")
  }
}
