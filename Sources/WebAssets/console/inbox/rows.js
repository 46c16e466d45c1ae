// A virtual list: only the visible rows and a few around them are in the document. All rows have
// one height and all headings another, so positions are computed, not measured.

const AROUND = 8; // rows that are drawn above and below the visible ones
const AHEAD = 120; // rows before the end of a section at which the next page is loaded

/**
 * @typedef {import('./section.js').SectionName} SectionName
 * @typedef {{key: string, name: SectionName, title: string, ids: string[], count: number,
 *   hasMore: boolean}} ListedSection
 */

/** @template Model of a row or a heading */
export class Rows {
  /** Heights in px, as in inbox.css. */
  size = { row: 60, head: 28 };
  #box;
  #space;
  #draw;
  /** @type {Map<string, {node: HTMLElement, sign: string, top: number}>} */
  #drawn = new Map();
  /** @type {ListedSection[]} */
  #sections = [];
  /** The visible part, in px from the top, at the last drawing. */
  #seen = { top: 0, end: 0 };

  /**
   * @param {HTMLElement} box that scrolls
   * @param {(model: Model, node: HTMLElement?) => HTMLElement} draw may change its node
   */
  constructor(box, draw) {
    this.#box = box;
    this.#draw = draw;
    this.#space = document.createElement('div');
    this.#space.className = 'space';
    box.append(this.#space);
  }

  get sections() { return this.#sections; }

  /** @param {ListedSection[]} sections each begins with a heading */
  show(sections) {
    this.#sections = sections;
    const height = this.#height(sections.length);
    if (this.#space.dataset.height !== String(height)) {
      this.#space.dataset.height = String(height);
      this.#space.style.height = `${height}px`;
    }
  }

  /**
   * Draws the visible rows. The layout is read once, before the first write; a row that keeps its
   * place is not touched, so scrolling costs only the rows that come into view.
   * @param {(section: ListedSection, index: number) => Model} model index -1 is the heading
   * @param {boolean} scrolled only the position has changed: drawn rows stay as they are
   */
  render(model, scrolled = false) {
    const { scrollTop, clientHeight } = this.#box;
    this.#seen = { top: scrollTop, end: scrollTop + clientHeight };
    const wanted = this.#wanted();
    // rows that leave go first: else each row that stays would seem to be in the wrong place
    for (const [key, { node }] of this.#drawn) {
      // a row that has the focus stays
      if (wanted.has(key) || node.contains(document.activeElement)) continue;
      node.remove();
      this.#drawn.delete(key);
    }
    let after = this.#space.firstElementChild;
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

  /** The rows and headings in view or near it, in order. */
  #wanted() {
    const margin = AROUND * this.size.row;
    const from = this.#seen.top - margin;
    const to = this.#seen.end + margin;
    /** @type {Map<string, {section: ListedSection, index: number, top: number}>} */
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

  /** The ids of the rows in view, in order, at the last drawing. */
  get inView() {
    const { top: from, end: to } = this.#seen;
    return [...this.#wanted()].filter(([, { index, top }]) => (
      index >= 0 && top + this.size.row > from && top < to
    )).map(([id]) => id);
  }

  /** The section at the upper edge, for the heading that sticks there. Reads no layout. */
  get above() {
    let top = 0;
    for (const section of this.#sections) {
      top += this.size.head + section.ids.length * this.size.row;
      if (top > this.#seen.top) return section;
    }
    return this.#sections.at(-1);
  }

  /**
   * Whether the end of a section is near the visible part.
   * @param {{key: string}} section
   */
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

  /**
   * The position of a row in px, or -1.
   * @param {string} id
   */
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

  /**
   * Scrolls a row into view.
   * @param {string} id
   */
  reveal(id) {
    const top = this.topOf(id);
    if (top < 0) return;
    const { scrollTop, clientHeight } = this.#box;
    if (top - this.size.head < scrollTop) this.#box.scrollTop = top - this.size.head;
    else if (top + this.size.row > scrollTop + clientHeight) {
      this.#box.scrollTop = top + this.size.row - clientHeight;
    }
  }

  /** @param {number} count of headings */
  #height(count) {
    return this.#sections.reduce(
      (sum, { ids }) => sum + ids.length * this.size.row, count * this.size.head
    );
  }
}
