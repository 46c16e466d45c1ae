/** What https://<your gateway>/widget.js adds to a page. */
export interface ChirrupMessage {
  session: string;
  seq: number;
  id: string;
  sender: { kind: 'visitor' | 'operator' | 'bot' | 'system'; id?: string; name?: string };
  kind: string;
  body: string;
  payload?: unknown;
  /** RFC 3339, UTC. */
  at: string;
}

export type ChirrupStatus = 'idle' | 'connecting' | 'open' | 'waiting' | 'stopped';

export interface ChirrupEvents {
  /** The button is on the page. Told at once to those who ask later. */
  ready: undefined;
  open: null;
  close: null;
  /** A message of anybody arrived while the chat is connected. */
  message: ChirrupMessage;
  /** How many messages the visitor has not seen. */
  unread: number;
  status: ChirrupStatus;
  error: unknown;
}

export interface Chirrup {
  open(): Promise<void>;
  close(): Promise<void>;
  toggle(): Promise<void>;
  /** Says who the visitor is, by a JWT that your server signed with the workspace's secret. */
  identify(jwt: string): Promise<void> | undefined;
  setAttributes(attributes: Record<string, string | number | boolean>): Promise<void> | undefined;
  /** For example `de`. A language that is missing is English. */
  setLocale(locale: string): Promise<void> | undefined;
  on<E extends keyof ChirrupEvents>(event: E, fn: (detail: ChirrupEvents[E]) => void): void;
  /** Takes the chat off the page. What was not sent yet goes out on another page of the site. */
  destroy(): Promise<void> | undefined;
}

type Call = { [K in keyof Chirrup]: [K, ...Parameters<Chirrup[K]>] }[keyof Chirrup];

declare global {
  interface Window {
    /** Before widget.js is there, an array of calls: `(chirrup ||= []).push(['open'])`. */
    chirrup: Chirrup | Call[];
  }
}
