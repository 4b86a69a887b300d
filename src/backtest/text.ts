import { encodingOf, NO_TEXT } from "../domain/encoding.ts";
import { FileRefused } from "../domain/file-refused.ts";

/**
 * The text of a file.
 *
 * @throws FileRefused when it is neither UTF-8 nor UTF-16
 */
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new FileRefused(NO_TEXT);
  }
}
