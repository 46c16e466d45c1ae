/** Features of browsers that the library of TypeScript 4.8 does not describe. */

interface Navigator {
  readonly globalPrivacyControl?: boolean;
  /** Network Information, Save-Data; `type` is missing on desktops. */
  readonly connection?: { readonly saveData?: boolean; readonly type?: string };
  readonly userActivation?: { readonly hasBeenActive: boolean };
}

interface Element {
  checkVisibility?(): boolean;
}

interface HTMLElement {
  popover?: string | null;
  showPopover?(): void;
}

interface Array<T> {
  findLastIndex(predicate: (value: T, index: number) => boolean): number;
  /** `filter(Boolean)` leaves the falsy values out. */
  filter(predicate: BooleanConstructor): Exclude<T, false | null | undefined | '' | 0>[];
}

declare namespace Intl {
  function supportedValuesOf(key: 'timeZone'): string[];
}

// Passkeys in JSON (WebAuthn, section 5.1).

interface PasskeyFormat {
  parseCreationOptionsFromJSON(options: object): PublicKeyCredentialCreationOptions;
  parseRequestOptionsFromJSON(options: object): PublicKeyCredentialRequestOptions;
}

interface PasskeyCredential extends PublicKeyCredential {
  toJSON(): object;
}

/** The parts of a service worker's scope that console/install/worker.js uses (Service Workers §4). */
interface WorkerScope {
  clients: {
    claim(): Promise<void>;
    matchAll(options: object): Promise<WorkerClient[]>;
    openWindow(url: string): Promise<WorkerClient | null>;
  };
  registration: ServiceWorkerRegistration;
  skipWaiting(): Promise<void>;
  addEventListener(type: string, listener: (event: WorkerEvent) => void): void;
}
interface WorkerClient {
  url: string;
  visibilityState: string;
  postMessage(message: object): void;
  focus(): Promise<WorkerClient>;
}
interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
  respondWith(response: Promise<Response>): void;
  request: Request;
  notification: Notification;
  data: { json(): { conversation: string; title: string; body: string } };
}
interface Navigator { setAppBadge?(count: number): Promise<void> }
