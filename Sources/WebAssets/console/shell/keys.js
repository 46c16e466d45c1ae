// Keyboard shortcuts. Single letters work outside fields only (WCAG 2.1.4); `?` shows the list.

import { targetOf } from './element.js';

const SEQUENCE = 900; // ms between G and the letter after it

/**
 * @param {import('./commands.js').Acts} acts
 * @param {import('./guard.js').Guard} guard
 * @param {AbortSignal} signal removes the listener
 */
export function keys(acts, guard, signal) {
  let ledAt = 0; // when G was pressed
  let isWalking = false; // after J or K the guard lets J and K pass
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const isAway = acts.isAway();
    if (!isAway && event.altKey && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      return acts.letters[event.key === 'ArrowDown' ? 'j' : 'k']();
    }
    if (event.key === 'F6') { event.preventDefault(); return acts.region(event.shiftKey ? -1 : 1); }
    const control = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (control && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      return acts.search();
    }
    // a modal dialog has its own keys
    if (document.querySelector('dialog[open]')) return;
    if (event.key === 'Escape') return acts.escape();
    const field = targetOf(event)?.closest('input, textarea, select');
    if (field || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!acts.hasLetters() && event.key !== '?') return;
    const key = event.key.toLowerCase();
    const isBlocked = key.length === 1 && key !== '?' && !(isWalking && 'jk'.includes(key))
      && guard.blocks();
    if (isBlocked) return;
    isWalking = 'jk'.includes(key);
    const isAfterG = Date.now() - ledAt < SEQUENCE;
    ledAt = 0;
    /** @type {Record<string, () => void>} */
    const known = isAfterG ? acts.go : isAway ? {} : acts.letters;
    const act = key === '?' ? acts.help : key.length === 1 && known[key];
    if (!isAfterG && key === 'g') ledAt = Date.now();
    else if (act) { event.preventDefault(); act(); }
  }, { signal });
}
