// The document as the page needs it: operations in groups, and schemas without references.

/** @typedef {DocumentOperation & {method: string, path: string, id: string}} Operation */
/** @typedef {{name: string, type: string, text: string, required: boolean}} Member */

const DEPTH_MAX = 4; // levels of members that are listed

export class Reference {
  #document;
  /** @type {Map<string, Operation>} */
  operations = new Map();
  /** @type {{name: string, operations: Operation[]}[]} */
  groups = [];

  /** @param {OpenAPIDocument} document */
  constructor(document) {
    this.#document = document;
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const id = operation.operationId;
        this.operations.set(id, { ...operation, method: method.toUpperCase(), path, id });
      }
    }
    const all = [...this.operations.values()];
    this.groups = document.tags.map(({ name }) => ({
      name, operations: all.filter(({ tags }) => tags[0] === name).sort(byPath),
    }));
  }

  /** The address to which the paths of the operations are appended. */
  get server() { return new URL(this.#document.servers[0].url, location.href).origin; }

  /**
   * A schema without its reference.
   * @param {JSONSchema} schema
   * @returns {JSONSchema}
   */
  schema(schema) {
    const name = schema.$ref?.split('/').pop();
    if (!name) return schema;
    return { description: schema.description, ...this.#document.components.schemas[name] };
  }

  /**
   * A response without its reference.
   * @param {OperationResponse} response
   * @returns {OperationResponse}
   */
  response(response) {
    const name = response.$ref?.split('/').pop();
    return name ? this.#document.components.responses[name] : response;
  }

  /**
   * The members of an object, those of inner objects after it as `outer.inner` and `list[].inner`.
   * @param {JSONSchema} given
   * @returns {Member[]}
   */
  members(given, prefix = '', depth = 1) {
    const schema = this.#inner(given);
    const variants = (schema.anyOf ?? [schema]).map((variant) => this.schema(variant));
    /** @type {Map<string, Member & {schema: JSONSchema}>} */
    const found = new Map();
    for (const variant of variants) {
      for (const [name, member] of Object.entries(variant.properties ?? {})) {
        // Of several forms of an object a member is required if all of them require it.
        const required = variants.every((form) => form.required?.includes(name));
        if (!found.has(name)) {
          found.set(name, {
            name: prefix + name, required, schema: member,
            type: this.type(member), text: this.schema(member).description ?? '',
          });
        }
      }
    }
    return [...found.values()]
      .sort((one, other) => Number(other.required) - Number(one.required))
      .flatMap(({ schema: member, ...row }) => {
        const list = this.#inner(member).items;
        const inner = depth < DEPTH_MAX
          ? this.members(list ?? member, `${row.name}${list ? '[]' : ''}.`, depth + 1) : [];
        return [row, ...inner];
      });
  }

  /**
   * Whether the schema also allows null.
   * @param {JSONSchema} schema
   */
  #allowsNull(schema) {
    return schema.type?.includes('null') || schema.anyOf?.some(({ type }) => type === 'null');
  }

  /**
   * The schema without its alternative null.
   * @param {JSONSchema} given
   * @returns {JSONSchema}
   */
  #inner(given) {
    const schema = this.schema(given);
    const others = schema.anyOf?.filter(({ type }) => type !== 'null');
    return others?.length === 1 ? this.schema(others[0]) : { ...schema, anyOf: others };
  }

  /**
   * The type in words.
   * @param {JSONSchema} given
   * @returns {string}
   */
  type(given) {
    const schema = this.#inner(given);
    const end = this.#allowsNull(this.schema(given)) ? ', or null' : '';
    if (schema.enum) return schema.enum.filter(Boolean).join(', ') + end;
    if (schema.anyOf) {
      return [...new Set(schema.anyOf.map((choice) => this.type(choice)))].join(' or ') + end;
    }
    const type = [schema.type ?? 'object'].flat().filter((name) => name !== 'null')[0];
    switch (type) {
      case 'string': return text(schema) + end;
      case 'integer': return range(schema) + end;
      case 'boolean': return `true or false${end}`;
      case 'array': return `list of ${this.type(schema.items ?? {})}${end}`;
      default: return type + end;
    }
  }

  /**
   * The operations that contain all words, in summary, path, description or members.
   * @param {string} query
   */
  find(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return new Set([...this.operations.values()].filter((operation) => {
      const haystack = this.#words(operation);
      return words.every((word) => haystack.includes(word));
    }).map(({ id }) => id));
  }

  /** @type {Map<string, string>} */
  #haystacks = new Map();

  /** @param {Operation} operation */
  #words(operation) {
    const known = this.#haystacks.get(operation.id);
    if (known) return known;
    const bodies = [operation.requestBody, ...Object.values(operation.responses)].flatMap(
      (part) => Object.values(part?.content ?? {}).flatMap(({ schema }) => this.members(schema))
    );
    const found = [
      operation.method, operation.path, operation.summary, operation.description,
      operation.tags[0], operation['x-scope'],
      ...operation.parameters.map(({ name }) => name), ...bodies.map(({ name }) => name),
    ].join(' ').toLowerCase();
    this.#haystacks.set(operation.id, found);
    return found;
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** @param {Operation} one @param {Operation} other */
function byPath(one, other) {
  if (one.path !== other.path) return one.path < other.path ? -1 : 1;
  return METHODS.indexOf(one.method) - METHODS.indexOf(other.method);
}

/** @type {Record<string, string>} */
const FORMATS = { uuid: 'UUID', 'date-time': 'time (RFC 3339)', date: 'date' };

/** @param {JSONSchema} schema */
function text({ format, maxLength }) {
  const known = FORMATS[format ?? ''];
  if (known) return known;
  return maxLength ? `text, up to ${maxLength.toLocaleString('en')} characters` : 'text';
}

/** @param {JSONSchema} schema */
function range({ minimum, maximum }) {
  if (minimum == null || maximum == null || maximum >= Number.MAX_SAFE_INTEGER) return 'integer';
  return `integer, ${minimum.toLocaleString('en')} to ${maximum.toLocaleString('en')}`;
}

/**
 * Whether the operation belongs to members and API keys, visitors, or anybody.
 * @param {Operation} operation
 */
export const audience = ({ security }) => (
  security.some((one) => 'visitor' in one) ? 'visitor'
    : security.some((one) => 'operator' in one) ? 'member' : 'anybody'
);
