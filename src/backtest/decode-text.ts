import { FileRefusedError } from "../domain/file-refused-error.ts";
import { detectEncoding, NOT_TEXT_MESSAGE } from "../domain/text-encoding.ts";

/**
 * The text of a file.
 *
 * @throws FileRefused when it is neither UTF-8 nor UTF-16
 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder(detectEncoding(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new FileRefusedError(NOT_TEXT_MESSAGE);
  }
}
