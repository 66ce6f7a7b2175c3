/** Requests whose body is a policy's file. */

/** Return the body of a request as it is, in YAML. */
export function yamlBody(text: string) {
  return {
    body: text,
    bodySerializer: (body: string) => body,
    headers: { 'Content-Type': 'application/yaml' },
  };
}
