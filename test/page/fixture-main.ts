/** Puts the fixture where preload.ts puts the bridge, then starts the page. */
import { fixtureBridge } from './fixture-bridge'

const query = new URLSearchParams(location.search)
Object.defineProperty(window, 'studio', { value: fixtureBridge(query) })
await import('../../src-renderer/main')
