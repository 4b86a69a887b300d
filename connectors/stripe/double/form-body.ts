export type FormValue = string | FormValue[] | { [name: string]: FormValue };
export type FormFields = { [name: string]: FormValue };

/** Reads `items[0][price]=p&metadata[a]=b&expand[]=x` as nested objects and arrays. All other values are text. */
export function readForm(text: string): FormFields {
  const fields: FormFields = {};
  for (const [key, value] of new URLSearchParams(text)) {
    const path = [...key.matchAll(/^[^[]+|\[([^\]]*)\]/g)].map(([whole, inner]) => inner ?? whole);
    put(fields, path, value);
  }
  return toArrays(fields) as FormFields;
}

function put(fields: FormFields, path: readonly string[], value: string) {
  let at = fields;
  for (const [depth, name] of path.entries()) {
    // `[]` appends.
    const key = name === "" ? String(Object.keys(at).length) : name;
    if (depth === path.length - 1) at[key] = value;
    else {
      at[key] ??= {};
      at = at[key] as FormFields;
    }
  }
}

/** An object whose names are all numbers was a list. */
function toArrays(value: FormValue): FormValue {
  if (typeof value === "string" || Array.isArray(value)) return value;
  const names = Object.keys(value);
  if (names.length > 0 && names.every((name) => /^\d+$/.test(name))) return names.map((name) => toArrays(value[name]!));
  return Object.fromEntries(names.map((name) => [name, toArrays(value[name]!)]));
}
