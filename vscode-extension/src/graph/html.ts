/** The page of a graph: nothing in it but the addresses of its script and its style. */

export interface PageParts {
  script: string;
  style: string;
  /** Where the editor serves files from. */
  source: string;
  /** Made for this page alone. */
  nonce: string;
}

/** A page that fetches nothing, runs its own script alone, and has no style in its elements. */
export function pageHtml({ script, style, source, nonce }: PageParts): string {
  const policy = `default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Graph</title>
<link rel="stylesheet" href="${style}">
</head>
<body>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}
