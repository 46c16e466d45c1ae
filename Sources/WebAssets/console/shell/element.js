// Typed access to the elements of an event and of a selector.

/**
 * The element of an event, null if its target is none.
 * @param {Event} event
 */
export const targetOf = (event) => (event.target instanceof Element ? event.target : null);

/**
 * The first descendant that matches, if it is of this type.
 * @template {Element} Type
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Type} type
 */
export function find(root, selector, type) {
  const node = root.querySelector(selector);
  return node instanceof type ? node : null;
}

/**
 * Puts the focus on an element, if there is one that can have it.
 * @param {Element | null | undefined | false | ''} node
 * @param {FocusOptions=} options
 */
export function focusOn(node, options) {
  if (node instanceof HTMLElement) node.focus(options);
}

/**
 * An element that takes the place of another one, and its focus.
 * @param {HTMLElement} node
 * @param {HTMLElement | null | undefined} before
 */
export function replacing(node, before) {
  if (before?.contains(document.activeElement)) {
    queueMicrotask(() => {
      if (document.activeElement === document.body) focusOn(node, { preventScroll: true });
    });
  }
  return node;
}
