import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The same sources give the same bytes: file names are digests of contents, and nothing has a date.
export default defineConfig({
  plugins: [svelte()],
  base: '/',
  build: {
    outDir: '../../build/ui',
    emptyOutDir: true,
    target: 'es2023',
    manifest: true,
    assetsInlineLimit: 0, // the content security policy admits no data: URLs
    modulePreload: { polyfill: false },
  },
  // `vite` beside a controller, for whoever works on the pages (README.md).
  server: process.env.WEFT_UI_DEV
    ? {
        fs: { allow: ['../..'] }, // the policy's schema
        proxy: Object.fromEntries(
          ['/api', '/ui/'].map((path) => [path, { target: process.env.WEFT_UI_DEV, secure: false }]),
        ),
      }
    : {},
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
