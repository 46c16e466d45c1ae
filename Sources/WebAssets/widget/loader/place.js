// Keeps the widget's element in the document.
// Invariant: until it is released it is there in the next frame, whatever the page has replaced.

/**
 * Puts it beside the body, which routers replace, and into the top layer: no transform moves it, no
 * z-index covers it. An older browser has no popovers; the styles of `:host` then do what they can.
 * @param {HTMLElement} host gets the event `placed` each time
 * @returns {() => void} releases and removes it
 */
export function keep(host) {
  let isReleased = false;

  function place() {
    const page = document.documentElement;
    if (isReleased || host.isConnected || !page) return;
    for (const it of [document, page]) observer.observe(it, { childList: true });
    host.dir = document.body?.dir;
    page.append(host);
    host.showPopover?.();
    host.dispatchEvent(new Event('placed'));
  }

  // once a frame: a page that removes the element again and again is not blocked
  const observer = new MutationObserver(() => requestAnimationFrame(place));
  host.popover = 'manual';
  place();
  return () => { isReleased = true; observer.disconnect(); host.remove(); };
}
