// Files that are dragged over an element, dropped on it or pasted into it.

/**
 * Calls `take` with the files, none while they are dragged. A formatted text, which applications
 * copy together with a picture of it, stays a text.
 * @param {HTMLElement} node
 * @param {(files: File[], type: string) => void} take
 */
export function takeFiles(node, take) {
  for (const type of ['dragover', 'drop', 'paste']) {
    node.addEventListener(type, (event) => {
      const data = /** @type {DragEvent} */ (event).dataTransfer
        ?? /** @type {ClipboardEvent} */ (event).clipboardData;
      const isText = ['text/html', 'text/plain'].every((it) => data?.types.includes(it));
      if (!data?.types.includes('Files') || type === 'paste' && isText) return;
      event.preventDefault();
      take([...data.files], type);
    });
  }
}
