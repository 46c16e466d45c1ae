/** The API that https://<your gateway>/widget.js adds to a page. */
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

export type Attributes = Record<string, string | number | boolean>;

/** A request of the widget has failed. */
export interface ChirrupError extends Error {
  /**
   * The type of the gateway's problem, if it has answered. `bad_identity`: the JWT of `identify` was
   * refused, and the chat goes on without it.
   */
  reason?: string;
}

export interface ChirrupEvents {
  /** The launcher is on the page. A listener that is added later is called at once. */
  ready: undefined;
  open: null;
  close: null;
  /** A message has arrived, of either side. */
  message: ChirrupMessage;
  /** The number of messages that the visitor has not seen. */
  unread: number;
  status: ChirrupStatus;
  error: ChirrupError;
}

export interface Chirrup {
  open(): Promise<void>;
  close(): Promise<void>;
  toggle(): Promise<void>;
  /** Identifies the visitor by a JWT that your server signed with the workspace's secret. */
  identify(jwt: string): Promise<void> | undefined;
  setAttributes(attributes: Attributes): Promise<void> | undefined;
  /** The name or id of the team for a conversation that the visitor has not begun. */
  setTeam(team: string): Promise<void> | undefined;
  /** For example `de`. English takes the place of a language that the widget does not have. */
  setLocale(locale: string): Promise<void> | undefined;
  on<E extends keyof ChirrupEvents>(event: E, fn: (detail: ChirrupEvents[E]) => void): void;
  /** Removes the chat from the page. Messages that wait are sent from another page of the site. */
  destroy(): Promise<void> | undefined;
}

type Call = { [K in keyof Chirrup]: [K, ...Parameters<Chirrup[K]>] }[keyof Chirrup];

declare global {
  interface Window {
    /** Before widget.js has run, an array of calls: `(chirrup ||= []).push(['open'])`. */
    chirrup: Chirrup | Call[];
  }
}
