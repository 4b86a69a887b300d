import assert from "node:assert/strict";

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

/** Asserts that an object has the fields of its kind, and no others. */
export async function assertFields(object: KubernetesObject) {
  const { apiVersion, kind, metadata } = object;
  const kinds: Record<string, new (data: unknown) => { validate(): void }> = await import(
    `kubernetes-models/${apiVersion}/${kind}`
  );
  assert.doesNotThrow(() => new kinds[kind]!(object).validate(), `${kind} ${metadata.name}`);
}

/** "Deployment dunlin-api", as kubectl names it. */
export const nameOf = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata.name}`;
