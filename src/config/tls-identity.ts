import { join } from "node:path";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import type { Settings } from "./config.ts";

export async function loadTlsIdentity({ tls, certificate, dataDir, baseUrl }: Settings, realNow: Date) {
  if (tls === "proxy") return { tls, caFile: null };
  if (certificate) return { tls: certificate, caFile: null };
  const { cert, key, caFile } = await ensureLocalCertificate(join(dataDir, "tls"), new URL(baseUrl).hostname, realNow);
  return { tls: { cert, key }, caFile };
}
