// The emoji of the composer: a button beside the clip, and a list above the field. A phone's
// keyboard has its own, so emoji.css hides the button there. Screen readers name an emoji in their
// own language.
// The file has its own copy of the modules that it shares with the app.

import { CIRCLE, el, icon, paths } from '../../shared/dom.js';

const ALL = '🙂 😀 😄 😊 😉 😂 😍 😎 🤔 😮 😅 😕 😢 😡 👍 👎 👌 🙏 👏 👋 💪 🤝 ❤️ 🎉 ⭐ ✅ ❌ ❗ ❓ 💬'
  + ' 📦 🚚 🛒 🎁 💳 🧾 📷 📍 📞 ✉️ ⏰ 📅 🏠 🔧 🔑 💡';
/** @type {Record<string, string>} */
const NAMES = { ar: 'رموز تعبيرية', ja: '絵文字', th: 'อีโมจิ' };
paths.smile = `${CIRCLE}M7.5 8v.01M12.5 8v.01M7 12c1.5 2 4.5 2 6 0`;

/** @param {ShadowRoot} root */
function adoptStyles(root) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(EMOJI_STYLES);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}

/**
 * Adds them to the panel. Returns a function to be called now and then: the language may change,
 * and the field be closed.
 * @param {ShadowRoot} root
 * @param {import('./panel.js').Panel} view
 */
export function emoji(root, view) {
  const { form, text, clip } = view;
  const button = el('button.icon-button.pick', { click: () => show(list.hidden), keydown: leave },
    icon('smile'));
  const all = ALL.split(' ').map((it) => el('button', { click: () => pick(it) }, it));
  const list = el('div.emoji', { role: 'group', hidden: true, keydown: move }, all);

  /** @param {boolean} isOpen */
  function show(isOpen) {
    list.hidden = !isOpen;
    button.ariaExpanded = `${isOpen}`;
    if (isOpen) go(all[0]);
  }

  /**
   * The Tab key reaches one of them.
   * @param {HTMLElement} node
   */
  function go(node) {
    for (const it of all) it.tabIndex = it === node ? 0 : -1;
    node.focus();
  }

  /** @param {string} it */
  function pick(it) {
    show(false);
    text.setRangeText(it, text.selectionStart, text.selectionEnd, 'end');
    text.dispatchEvent(new Event('input'));
    text.focus();
  }

  /**
   * Escape closes the list before the panel.
   * @param {KeyboardEvent} event
   */
  function leave(event) {
    if (event.key !== 'Escape' || list.hidden) return;
    event.stopPropagation();
    event.preventDefault();
    show(false);
    button.focus();
  }

  /** @param {KeyboardEvent} event */
  function move(event) {
    leave(event);
    const columns = all.filter((it) => it.offsetTop === all[0].offsetTop).length;
    const ahead = view.root.dir === 'rtl' ? -1 : 1;
    const at = all.findIndex((it) => it.matches(':focus'));
    const next = at + ({
      ArrowRight: ahead, ArrowLeft: -ahead, ArrowDown: columns, ArrowUp: -columns,
      Home: -at, End: all.length - 1 - at,
    }[event.key] ?? 0);
    if (next === at || !all[next]) return;
    event.preventDefault();
    go(all[next]);
  }

  function refresh() {
    button.ariaLabel = button.title = list.ariaLabel = NAMES[view.root.lang.slice(0, 2)] ?? 'Emoji';
    if (form.hidden) show(false);
  }

  adoptStyles(root);
  show(false);
  refresh();
  clip.after(button);
  form.before(list);
  return refresh;
}
