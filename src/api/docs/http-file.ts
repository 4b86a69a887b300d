import { listOperations } from "./api-reference.ts";

interface Example {
  "application/json": { examples?: Record<string, { value: unknown }> };
}

const FILE_HEADER = (
  baseUrl: string,
) => `# Every operation of the API, and every event as Dunlin posts it, to be sent from an editor that knows .http files.
# The key comes from the environment variable DUNLIN_API_KEY. The editor must trust data/tls/ca.pem, if Dunlin made the certificate.
@baseUrl = ${baseUrl}
@apiKey = {{$processEnv DUNLIN_API_KEY}}
# Your own endpoint and its credential, for the events at the end.
@webhookUrl = https://localhost:3000/dunlin
@webhookToken = {{$processEnv DUNLIN_WEBHOOK_TOKEN}}
`;

/**
 * A collection of requests, one for each example of an OpenAPI document.
 *
 * @param openApi  as `buildOpenApiText` writes it
 */
export function buildHttpFile(openApi: string, baseUrl: string): string {
  const requests = listOperations(JSON.parse(openApi)).flatMap(({ method, path, operation }) => {
    const { summary, security, requestBody } = operation;
    const isOpen = security?.length === 0;
    const address = path === null ? "{{webhookUrl}}" : `{{baseUrl}}${path}`;
    const authorization = path === null ? "{{webhookToken}}" : "{{apiKey}}";
    const head = `${method.toUpperCase()} ${address}\n${isOpen ? "" : `Authorization: Bearer ${authorization}\n`}`;
    if (!requestBody) return [`### ${summary}\n${head}`];
    const examples = Object.entries((requestBody.content as Example)["application/json"].examples ?? {});
    return examples.map(
      ([name, { value }]) =>
        `### ${summary}: ${name}\n${head}Content-Type: application/json\n\n${JSON.stringify(value, null, 2)}\n`,
    );
  });
  return [FILE_HEADER(baseUrl), ...requests].join("\n");
}
