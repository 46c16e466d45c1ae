/** The shapes that the protocol and the REST API share. PROTOCOL.md and openapi.json say more. */

interface Person {
  /** `visitor`, `operator`, `bot` or `system` */
  kind: string;
  id: string;
  name?: string;
}

/** A message in the log of a conversation. */
interface Entry {
  seq: number;
  id: string;
  sender: Person;
  kind: string;
  body: string;
  payload?: any;
  /** RFC 3339 */
  at: string;
}

/** A conversation as REST and the inbox describe it. */
interface Row {
  id: string;
  status: string;
  created_at: string;
  waiting_since?: string | null;
  assignee?: { id: string; name?: string } | null;
  visitor?: any;
  context?: any;
  [field: string]: any;
}

/** A frame of chirrup.v1, in either direction. */
interface Frame {
  type: string;
  [field: string]: any;
}

/** Newer than TypeScript 4.8's library. */
interface Navigator {
  readonly userActivation?: { readonly hasBeenActive: boolean };
}
