// The viewer: one picture of the conversation on a dark page of its own, the others by arrows. It
// looks the same in both themes, so that a picture does.

import { el, icon } from '../dom.js';
import { download } from './links.js';
import { picture } from './bubble.js';
import { at, facts, say } from './words.js';

const ZOOMS = [1, 2, 4]; // times the size that fits

/** @typedef {AttachmentFile & {by: string, sent: string}} Shown a picture, its sender and time */

/**
 * Shows the pictures, beginning with one. The focus returns when the dialog closes.
 * @param {Shown[]} pictures
 * @param {string} first its id
 * @param {import('./links.js').Links} links
 * @param {(dialog: HTMLDialogElement) => void} place puts the dialog into the document
 */
export function view(pictures, first, links, place) {
  new Viewer(pictures, links).open(pictures.findIndex(({ id }) => id === first), place);
}

class Viewer {
  #pictures;
  #links;
  #now = 0;
  #zoom = 0;
  #name = el('b.truncate', { dir: 'auto' });
  #about = el('span.num');
  #count = el('span.num.of');
  #image = el('img', { click: () => this.#magnify(this.#zoom ? 0 : 1) });
  #trouble = el('p.trouble', { role: 'alert', hidden: true });
  #text = el('p.description');
  #strip = el('ul');

  /** @param {Shown[]} pictures @param {import('./links.js').Links} links */
  constructor(pictures, links) {
    this.#pictures = pictures;
    this.#links = links;
    /** @type {(look: string, words: string, click: () => void) => HTMLButtonElement} */
    const button = (look, words, click) => el(
      'button.icon-button', { type: 'button', 'aria-label': words, title: words, click }, icon(look),
    );
    this.larger = button('zoom', say('zoom_in'), () => this.#magnify(this.#zoom ? 0 : 1));
    this.previous = button('back', say('previous'), () => this.#show(this.#now - 1));
    this.next = button('next', say('next'), () => this.#show(this.#now + 1));
    this.frame = el('figure', { tabindex: -1 }, this.#image, this.#trouble);
    /** @type {HTMLDialogElement} */
    this.root = el(
      'dialog.viewer',
      { keydown: (event) => this.#key(event), close: () => { this.root.remove(); } },
      el(
        'div.top',
        {},
        el('div', {}, this.#name, this.#about),
        this.#count,
        this.larger,
        el('button.button', { type: 'button', click: () => this.#download() },
          icon('download'), el('span', {}, say('download'))),
        button('x', say('close'), () => { this.root.close(); }),
      ),
      el('div.viewer-stage', {}, this.previous, this.frame, this.next),
      el('div.below', {}, this.#text, this.#strip),
    );
  }

  /** @param {number} index @param {(dialog: HTMLDialogElement) => void} place */
  open(index, place) {
    const { root } = this;
    const isAlone = this.#pictures.length < 2;
    for (const node of [this.previous, this.next, this.#strip, this.#count]) node.hidden = isAlone;
    if (!isAlone) {
      const on = { links: this.#links, open: (/** @type {string} */ id) => this.#show(
        this.#pictures.findIndex((it) => it.id === id)
      ) };
      this.#strip.append(...this.#pictures.map((file) => el('li', {}, picture(file, on))));
    }
    place(root);
    root.showModal();
    this.#show(Math.max(0, index));
    this.frame.focus();
  }

  /** @param {number} index */
  async #show(index) {
    const file = this.#pictures[index];
    if (!file) return;
    const { by, sent, name, alt, width, height, id } = file;
    const total = this.#pictures.length;
    this.#now = index;
    this.#magnify(0);
    this.root.setAttribute('aria-label', say('place', index + 1, total));
    this.#name.textContent = name;
    const origin = [by, at(sent)].filter(Boolean).join(', ');
    this.#about.textContent = [origin, facts(file)].join(' · ');
    this.#count.textContent = say('of', index + 1, total);
    this.#text.replaceChildren(...alt ? [el('span', {}, say('description')), alt] : []);
    this.previous.disabled = !index;
    this.next.disabled = index === total - 1;
    // a button that is disabled loses the focus, and the keys with it
    if (!this.root.contains(this.#active) || this.#active?.matches(':disabled')) this.frame.focus();
    for (const [at, li] of [...this.#strip.children].entries()) {
      const button = li.firstElementChild;
      if (at === index) button?.setAttribute('aria-current', 'true');
      else button?.removeAttribute('aria-current');
      if (at === index) li.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    const image = this.#image;
    image.removeAttribute('src');
    image.alt = alt || name;
    image.width = width ?? 0;
    image.height = height ?? 0;
    image.toggleAttribute('data-sized', !!width);
    if (!width) { image.removeAttribute('width'); image.removeAttribute('height'); }
    this.#trouble.hidden = true;
    const link = await this.#links.of(id);
    if (this.#now !== index) return;
    image.onerror = () => { this.#failed(); };
    if (link) image.src = link.url; else this.#failed();
  }

  get #active() {
    const root = /** @type {Document | ShadowRoot} */ (this.root.getRootNode());
    return root.activeElement;
  }

  #failed() {
    this.#trouble.textContent = say('no_file');
    this.#trouble.hidden = false;
  }

  async #download() {
    const { id, name } = this.#pictures[this.#now];
    const link = await this.#links.of(id);
    if (link) download(link, name); else this.#failed();
  }

  /** @param {number} index of a zoom */
  #magnify(index) {
    const zoom = ZOOMS[index];
    if (!zoom) return;
    this.#zoom = index;
    this.frame.style.setProperty('--zoom', `${zoom}`);
    this.root.classList.toggle('zoomed', index > 0);
    const words = say(index ? 'zoom_out' : 'zoom_in');
    this.larger.setAttribute('aria-label', words);
    this.larger.title = words;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    event.stopPropagation(); // keeps keys from the page below
    const ahead = getComputedStyle(this.root).direction === 'rtl' ? -1 : 1;
    const { key } = event;
    const step = key === 'ArrowRight' ? ahead : key === 'ArrowLeft' ? -ahead : 0;
    if (key === 'Escape') this.root.close();
    else if (step && !this.#zoom) this.#show(this.#now + step);
    else if (key === 'Home' && !this.#zoom) this.#show(0);
    else if (key === 'End' && !this.#zoom) this.#show(this.#pictures.length - 1);
    else if (key === '+' || key === '=') this.#magnify(Math.min(this.#zoom + 1, ZOOMS.length - 1));
    else if (key === '-') this.#magnify(Math.max(this.#zoom - 1, 0));
    else return;
    event.preventDefault();
  }
}
