/** The server's path does not exist on the reader's machine. */
export const CA_HINT = "ca.pem is the certificate authority of this installation. Its operator has the file.";

/** By default the key comes from a shell variable. */
export const curlCommand = (caPath: string | null, apiKey = "$DUNLIN_API_KEY") =>
  `curl${caPath === null ? "" : " --cacert ca.pem"} -H "Authorization: Bearer ${apiKey}"`;

export const ingestCommand = (baseUrl: string, caPath: string | null) =>
  `${curlCommand(caPath)} -H "Content-Type: application/json" "${baseUrl}/ingest/v1/invoices" \\
  -d '{"invoices":[{"id":"in_1","state":"INVOICE_STATE_UNPAID","customerId":"cus_1","amount":4900,"currency":"EUR","createdAt":"'$(date -u +%Y-%m-%dT%H:%M:%SZ)'"}]}'`;
