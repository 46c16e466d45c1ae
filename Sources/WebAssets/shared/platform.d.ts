/** Features of browsers that the library of TypeScript 4.8 does not describe. */

interface Navigator {
  readonly userActivation?: { readonly hasBeenActive: boolean };
}

interface Element {
  checkVisibility?(): boolean;
}

interface Array<T> {
  findLastIndex(predicate: (value: T, index: number) => boolean): number;
  /** `filter(Boolean)` leaves the falsy values out. */
  filter(predicate: BooleanConstructor): Exclude<T, false | null | undefined | '' | 0>[];
}

declare namespace Intl {
  function supportedValuesOf(key: 'timeZone'): string[];
}
