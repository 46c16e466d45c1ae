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
        == "let i=i=>document.title+i.name;class e{#i=i;size=1;get(){return this.#i({name:i})}}"
        + "let{kind,other:t=`${i} item`}=new e;"
        + "export function start(e){return[i,t,t,{kind},e.kind]}\n")
  }

  @Test("declarations that follow each other become one")
  func declarations() {
    #expect(
      withShortNames(
        "let one=1;let two=()=>{let inner=one;fetch(inner)};let{three}=two;two();let four=three;\n")
        == "let t=1,i=()=>{let i=t;fetch(i)},{three:e}=i;i();let n=e;\n")
  }

  @Test("a name is used again where the other one cannot be meant")
  func scopes() {
    let source = """
      const outer = (first) => { const inner = first; return [inner, outer]; };
      const later = (second, third) => outer(second ? third : later);
      export function begin(thing) {
        const deep = () => { const own = thing; return own; };
        for (const each of thing) { deep(each); }
        try { deep(); } catch (error) { later(error); }
        return `${thing.map((one, two) => one + two)} ${deep(thing ? (two) => two : later)}`;
      }

      """
    #expect(
      withShortNames(packed(modules: [source]))
        == "let i=t=>{let e=t;return[e,i]},t=(e,n)=>i(e?n:t);export function begin(i){let e=()=>{"
        + "let t=i;return t};for(let t of i){e(t)}try{e()}catch(i){t(i)}"
        + "return`${i.map((t,i)=>t+i)} ${e(i?i=>i:t)}`}\n")
  }

  @Test("each class has its own private names")
  func privates() {
    #expect(
      withShortNames("class One{#first=1;#next;get(){return this.#first}}class Two{#other=2}\n")
        == "class i{#i=1;#t;get(){return this.#i}}class t{#i=2}\n")
  }

  @Test("a class becomes a function, its private members are variables of it")
  func classes() {
    let source = """
      class Box {
        lid = 1;
        #inner = new Map(); #name; #turn;
        constructor(name, other) {
          this.#name = name;
          this.other = other;
          other(() => this.#look(name), this.other);
        }
        get size() { return this.#inner.size; }
        async add(thing, name) { this.#turn = name; return this.#look(thing + this.lid); }
        async #look(at) { await this.#inner.get(at); }
      }
      export const box = new Box('a', () => {});

      """
    #expect(
      withoutClasses(packed(modules: [source]))
        == "function Box($name,other){let $this={lid:1,get size(){return $inner.size},"
        + "async add(thing,name){$turn=name;return $look(thing+$this.lid)}},"
        + "$inner=new Map(),$turn;async function $look(at){await $inner.get(at)}"
        + "$this.other=other;other(()=>$look($name),$this.other);return $this}"
        + "export let box=Box('a',()=>{});\n")
  }

  @Test("a constant with one use becomes its value, a property that nobody reads goes")
  func unneeded() {
    let source = """
      const LIMIT = 7 * 86_400;
      const WORDS = ['a'];
      const TWICE = 2;
      class Box {
        open = 0; last = 0;
        put(at) { this.open = at; this.last = at; return this.last > LIMIT ? WORDS : TWICE; }
        take() { return TWICE; }
      }

      """
    #expect(
      withoutClasses(packed(modules: [source]))
        == "let TWICE=2;function Box(){let $this={last:0,put(at){$this.last=at;"
        + "return $this.last>(7*86_400)?['a']:TWICE},take(){return TWICE}};return $this}\n")
  }

  @Test("a single statement needs no braces")
  func braces() {
    #expect(
      withoutClasses(
        "if(a){b()}else{c()}for(let d of e){f(d)}if(a){if(b){c()}}else{let d=1;f(d)}\n")
        == "if(a)b();else c();for(let d of e)f(d);if(a){if(b)c()}else{let d=1;f(d)}\n")
  }

  @Test("classes of elements get one letter in sheets and in the strings of scripts")
  func looks() {
    #expect(
      renamed("head foot", in: ".head:hover,.foot .header{}", isScript: false)
        == ".a:hover,.b .header{}")
    #expect(
      renamed("head foot", in: "el('p.head.foot',it.head,`b.foot.${it.head}`)", isScript: true)
        == "el('p.a.b',it.head,`b.b.${it.head}`)")
  }

  @Test("literals are written shorter, and parentheses around a single parameter go")
  func literals() {
    #expect(
      withShortNames("fetch(async(one)=>one,10_000,1_500,true,(null),0.5,(two,three)=>two);\n")
        == "fetch(async i=>i,1e4,1500,!0,(null),0.5,(i,t)=>i);\n")
  }

  @Test("inner properties get short names too, and what stands for one in a pattern")
  func inner() {
    #expect(
      withShortNames(
        "class A{waiting=1;get(){return this.waiting.id}}"
          + "let{waiting,id}=new A();fetch(waiting,id);\n",
        inner: "other waiting")
        == "class i{i=1;get(){return this.i.id}}let{i:t,id:e}=new i;fetch(t,e);\n")
  }

  @Test("a name of a list of places is its place, and a language its texts in that order")
  func places() {
    let list = """
      const places = (list) => list.split(' ');
      export const Word = places(`send open
        close`);

      """
    #expect(packed(modules: [list, "say(Word.close, Word.send);\n"]).hasSuffix("say(2,0);\n"))
    let thai = "{\n  \"open\": \"เปิด\",\n  \"send\": \"ส่ง\"\n}\n"
    let english = "{\n  \"send\": \"Send\",\n  \"close\": \"Close\"\n}\n"
    #expect(
      packed(texts: thai, instead: english, list: list)
        == "export default`ส่ง\nเปิด\nClose`\n")
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
