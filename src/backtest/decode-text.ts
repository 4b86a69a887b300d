import { FileRefusedError } from "../domain/file-refused-error.ts";
import { detectEncoding, NOT_TEXT_MESSAGE } from "../domain/text-encoding.ts";

export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder(detectEncoding(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new FileRefusedError(NOT_TEXT_MESSAGE);
  }
}
