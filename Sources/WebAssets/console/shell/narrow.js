// What changes for screen readers in narrow windows, where one column shows what several do else.

/**
 * Calls `use` now and whenever the window becomes narrow or wide.
 * @param {number} pixels the greatest width that is narrow, as in the style sheet
 * @param {(isNarrow: boolean) => void} use
 */
export function whenNarrow(pixels, use) {
  const query = matchMedia(`(max-width: ${pixels}px)`);
  const tell = () => use(query.matches);
  query.addEventListener('change', tell);
  tell();
}
