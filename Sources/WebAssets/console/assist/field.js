// Writes a draft into a field in which the operator may be typing.
// Invariant: no character of the operator's is removed or changed. A field whose text up to the end
// of the draft is no longer ours is left alone.

/** Says the field's owner that its text has changed, as if it was typed. */
const typed = () => new Event('input', { bubbles: true });

export class DraftField {
  #field;
  #isOurs;
  /** The text up to the end of the draft, as it was written. */
  #head = '';

  /**
   * @param {HTMLTextAreaElement} field
   * @param {() => boolean} isOurs whether the field still belongs to the conversation and the kind
   *   of text for which the draft is
   */
  constructor(field, isOurs) {
    this.#field = field;
    this.#isOurs = isOurs;
    /** The text without the draft. */
    this.before = field.value;
    this.isWritten = false;
  }

  /** Whether the draft can still be continued. */
  get isIntact() {
    return this.#isOurs() && (!this.isWritten || this.#field.value.startsWith(this.#head));
  }

  /**
   * Continues the draft, which begins behind the text of that moment; what is typed behind the
   * draft stays behind it. Returns whether it could.
   * @param {string} text
   */
  add(text) {
    if (!this.isIntact) return false;
    const field = this.#field;
    let piece = text;
    if (!this.isWritten) {
      this.#head = this.before = field.value;
      if (/\S$/.test(this.before)) piece = `\n${text}`;
    }
    const after = field.value.length - field.selectionEnd;
    const isBehind = field.selectionStart >= this.#head.length;
    field.setRangeText(piece, this.#head.length, this.#head.length, 'preserve');
    this.#head += piece;
    this.isWritten = true;
    // A caret at the end of the draft stays at its end.
    const caret = field.value.length - after;
    if (isBehind) field.setSelectionRange(caret, caret);
    field.dispatchEvent(typed());
    return true;
  }

  /**
   * Replaces all of the text by the draft, unless it was changed. Returns whether it could.
   * @param {string} text
   */
  replace(text) {
    if (!this.#isOurs() || this.#field.value !== this.before) return false;
    this.#field.value = this.#head = text;
    this.isWritten = true;
    this.#field.dispatchEvent(typed());
    return true;
  }

  /** Removes the draft if nothing was changed in it. Returns whether it could. */
  undo() {
    if (!this.isWritten || !this.isIntact) return false;
    this.#field.value = this.before + this.#field.value.slice(this.#head.length);
    this.#field.dispatchEvent(typed());
    this.#field.focus();
    return true;
  }
}
