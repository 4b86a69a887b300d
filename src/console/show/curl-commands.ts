/** A note on `ca.pem`, because the path on the server does not exist on the reader's machine. */
export const CA_HINT = "ca.pem is the certificate authority of this installation: its operator has the file.";

/** The beginning of a command that calls the API. Where no key is given, the shell knows it. */
export const curlCommand = (caPath: string | null, apiKey = "$DUNLIN_API_KEY") =>
  `curl${caPath === null ? "" : " --cacert ca.pem"} -H "Authorization: Bearer ${apiKey}"`;

/** Pushes an unpaid invoice of now. */
export const ingestCommand = (baseUrl: string, caPath: string | null) =>
  `${curlCommand(caPath)} -H "Content-Type: application/json" "${baseUrl}/ingest/v1/invoices" \\
  -d '{"invoices":[{"id":"in_1","state":"INVOICE_STATE_UNPAID","customerId":"cus_1","amount":4900,"currency":"EUR","createdAt":"'$(date -u +%Y-%m-%dT%H:%M:%SZ)'"}]}'`;
