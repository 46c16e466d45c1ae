/** The parts of an OpenAPI 3.1 document and of JSON Schema that the gateway's document uses. */

interface JSONSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: (string | null)[];
  const?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  required?: string[];
  items?: JSONSchema;
  properties?: Record<string, JSONSchema>;
  anyOf?: JSONSchema[];
}

interface MediaContent {
  schema: JSONSchema;
  example?: unknown;
  examples?: Record<string, { value: ProblemBody }>;
}

interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
}

interface OperationParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  example?: unknown;
  schema: JSONSchema;
}

interface OperationResponse {
  $ref?: string;
  description?: string;
  headers?: Record<string, unknown>;
  content?: Record<string, MediaContent>;
}

interface DocumentOperation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  parameters: OperationParameter[];
  requestBody?: { required: boolean; content: Record<string, MediaContent> };
  responses: Record<string, OperationResponse>;
  security: Record<string, unknown>[];
  'x-role'?: string;
  'x-scope'?: string | null;
  'x-expensive'?: boolean;
}

interface OpenAPIDocument {
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, DocumentOperation>>;
  components: {
    schemas: Record<string, JSONSchema>;
    responses: Record<string, OperationResponse>;
  };
}
