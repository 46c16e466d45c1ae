// A window over a list of any length: only the rows that can be seen, and a few around them, are in
// the document. Each row has the same height, headings another, so a place is arithmetic.

const AROUND = 8; // rows kept above and below what is seen
const AHEAD = 120; // rows before the end of what is loaded at which more is asked for

export class Rows {
  /** Heights in px; the style sheet has the same. */ size = { row: 60, head: 28 };
  #box; #space; #draw;
  /** @type {Map<string, {node: HTMLElement, sign: string, top: number}>} */ #drawn = new Map();
  #sections = /** @type {any[]} */ ([]);
  /** What is seen, as it was when it was drawn. */ #seen = { top: 0, end: 0 };

  /**
   * @param {HTMLElement} box what scrolls
   * @param {(item: any, node: HTMLElement?) => HTMLElement} draw
   */
  constructor(box, draw) {
    this.#box = box;
    this.#draw = draw;
    this.#space = document.createElement('div');
    this.#space.className = 'space';
    box.append(this.#space);
  }

  get sections() { return this.#sections; }

  /** @param {{key: string, ids: string[]}[]} sections each begins with a heading */
  show(sections) {
    this.#sections = sections;
    const height = this.#height(sections.length);
    if (this.#space.dataset.height !== String(height)) {
      this.#space.dataset.height = String(height);
      this.#space.style.height = `${height}px`;
    }
  }

  /**
   * Draws what can be seen. Reads the layout once, before it writes; a row that stays in its place
   * is not touched, so a frame of scrolling costs what came into sight and not what is there.
   * @param {(section: any, index: number) => any} model of a row, or of the heading at -1
   * @param {boolean} scrolled only the place changed: what is drawn already is right
   */
  render(model, scrolled = false) {
    const { scrollTop, clientHeight } = this.#box;
    this.#seen = { top: scrollTop, end: scrollTop + clientHeight };
    const wanted = this.#wanted();
    // First those that leave: before them every row that stays would seem out of its place.
    for (const [key, { node }] of this.#drawn) {
      // who is read out or typed at stays
      if (wanted.has(key) || node.contains(document.activeElement)) continue;
      node.remove();
      this.#drawn.delete(key);
    }
    let after = /** @type {Element?} */ (this.#space.firstElementChild);
    for (const [key, { section, index, top }] of wanted) {
      let known = this.#drawn.get(key);
      if (!known || !scrolled) {
        const item = model(section, index);
        const sign = JSON.stringify(item);
        if (known?.sign !== sign) {
          const node = this.#draw(item, known?.node ?? null);
          if (known && known.node !== node) {
            if (known.node === after) after = node;
            known.node.replaceWith(node);
          }
          known = { node, sign, top: -1 };
          this.#drawn.set(key, known);
        }
      }
      if (known.top !== top) {
        known.top = top;
        known.node.style.transform = `translateY(${top}px)`;
      }
      if (known.node === after) after = after.nextElementSibling;
      else this.#space.insertBefore(known.node, after);
    }
  }

  /** The rows and headings in sight or near it, in order. */
  #wanted() {
    const margin = AROUND * this.size.row;
    const from = this.#seen.top - margin;
    const to = this.#seen.end + margin;
    /** @type {Map<string, {section: any, index: number, top: number}>} */
    const wanted = new Map();
    let top = 0;
    for (const section of this.#sections) {
      if (top < to && top + this.size.head > from) {
        wanted.set(section.key, { section, index: -1, top });
      }
      top += this.size.head;
      const first = Math.max(0, Math.floor((from - top) / this.size.row));
      const last = Math.min(section.ids.length, Math.ceil((to - top) / this.size.row));
      for (let index = first; index < last; index += 1) {
        wanted.set(section.ids[index], { section, index, top: top + index * this.size.row });
      }
      top += section.ids.length * this.size.row;
    }
    return wanted;
  }

  /** The section at the upper edge, for the heading that stays there. Reads no layout. */
  get above() {
    let top = 0;
    for (const section of this.#sections) {
      top += this.size.head + section.ids.length * this.size.row;
      if (top > this.#seen.top) return section;
    }
    return this.#sections.at(-1);
  }

  /** Whether the end of a section is near what is seen. */
  nearEnd(section) {
    let top = 0;
    for (const known of this.#sections) {
      top += this.size.head + known.ids.length * this.size.row;
      if (known.key === section.key) {
        return top < this.#seen.end + AHEAD * this.size.row && top > this.#seen.top - 400;
      }
    }
    return false;
  }

  /** Where a row begins, or -1. */
  topOf(id) {
    let top = 0;
    for (const { ids } of this.#sections) {
      top += this.size.head;
      const index = ids.indexOf(id);
      if (index >= 0) return top + index * this.size.row;
      top += ids.length * this.size.row;
    }
    return -1;
  }

  reveal(id) {
    const top = this.topOf(id);
    if (top < 0) return;
    const { scrollTop, clientHeight } = this.#box;
    if (top - this.size.head < scrollTop) this.#box.scrollTop = top - this.size.head;
    else if (top + this.size.row > scrollTop + clientHeight) {
      this.#box.scrollTop = top + this.size.row - clientHeight;
    }
  }

  #height(count) {
    return this.#sections.reduce(
      (sum, { ids }) => sum + ids.length * this.size.row, count * this.size.head
    );
  }
}
