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
    #expect(packed(modules: [source]) == "function f(a,b){let text=a+b;return text}\n")
  }

  @Test("strings and templates stay as they are")
  func strings() {
    let source = "const a = 'x // y  \\' /* z */', b = `p  ${ c + `q  ${ d }` } // r`;\n"
    #expect(
      packed(modules: [source]) == "let a='x // y  \\' /* z */',b=`p  ${c+`q  ${d}`} // r`;\n")
  }

  @Test("signs that would melt into others keep their space")
  func signs() {
    #expect(packed(modules: ["a + +b; c - -d; e++ + f;\n"]) == "a+ +b;c- -d;e++ +f;\n")
  }

  @Test("a line break that may end a statement stays (ECMA-262 §12.10)")
  func lineBreaks() {
    #expect(packed(modules: ["a = b\n\n  c()\n"]) == "a=b\nc()\n")
  }

  @Test("a comma before a bracket and a semicolon before a brace go")
  func needless() {
    #expect(
      packed(modules: ["f([1, 2,], { a, }); if (a) { b(); }\n"]) == "f([1,2],{a});if(a){b()}\n")
  }

  @Test("constants of a list become their values, and the list goes")
  func constants() {
    let list = """
      const names = (list) => list.split(' ');
      export const Ask = names(`send read`);
      export const Close = {
        silent: 4102, hole: 4190,
      };

      """
    let use = "f(Ask.send, Close.hole, Close.silent, that.Ask.send, [Ask.read]);\n"
    #expect(
      packed(modules: [list, use]).hasSuffix("f('send',4190,4102,that.Ask.send,['read']);\n"))
    #expect(!packed(modules: [list, use]).contains("names"))
  }

  @Test("variables get short names wherever they stand, properties and globals keep theirs")
  func shortened() {
    let source = """
      const answer = (item) => document.title + item.name;
      class Box { #inner = answer; size = 1; get() { return this.#inner({ name: answer }); } }
      const { kind, other: another = `${answer} item` } = new Box();
      export function start(options) { return [answer, another, another, { kind }, options.kind]; }

      """
    #expect(
      withShortNames(packed(modules: [source]))
        == "let a=(c)=>document.title+c.name;class d{#a=a;size=1;get(){return this.#a({name:a})}}"
        + "let{kind,other:b=`${a} item`}=new d();"
        + "export function start(e){return[a,b,b,{kind},e.kind]}\n")
  }

  @Test("declarations that follow each other become one")
  func declarations() {
    #expect(
      withShortNames(
        "let one=1;let two=()=>{let inner=one;fetch(inner)};let{three}=two;two();let four=three;\n")
        == "let b=1,a=()=>{let c=b;fetch(c)},{three}=a;a();let d=three;\n")
  }

  @Test("modules become one: imports go, only the last exports")
  func joined() {
    let first =
      "export const one = 1;\nexport class A { #name = 1; other() { return this.#name; } }\n"
    let last = """
      import { one } from './one.js';

      export class B { #name = one; #more; }

      """
    #expect(
      packed(modules: [first, last])
        == "let one=1;class A{#name=1;other(){return this.#name}}\n"
        + "export class B{#name=one;#more}\n"
    )
  }

  @Test("a sheet keeps the spaces that mean something")
  func sheets() {
    let source = """
      /* Both themes. */
      :host { --l: initial; --d: ; }
      .a .b:hover, .c > .d { margin: calc(-1 * var(--s4)) auto; color: var(--c-accent); }

      """
    #expect(
      packed(styles: [source])
        == ":host{--a:initial;--b: }.a .b:hover,.c>.d{margin:calc(-1 * var(--c)) auto;"
        + "color:var(--c-accent)}")
  }

  @Test("a property that is used once or short becomes its value, unless something overrides it")
  func inlined() {
    let source = """
      :host { --once: 1px solid red; --short: 4px; --often: 1px solid blue; --set: 1px; --end: 0; }
      .a { border: var(--once); margin: var(--short) var(--short); outline: var(--often) }
      .b { outline: var(--often); --set: 2px; padding: var(--set) }

      """
    #expect(
      packed(styles: [source])
        == ":host{--c:1px solid blue;--d:1px;--e:0}.a{border:1px solid red;margin:4px 4px;"
        + "outline:var(--c)}.b{outline:var(--c);--d:2px;padding:var(--d)}")
  }
}
