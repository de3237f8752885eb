/** Leads to the place where keys are set. */
import { tick } from 'svelte'
import { viewManager } from './view-manager.svelte'

export async function openKeys(): Promise<void> {
  viewManager.open('settings')
  await tick()
  const heading = document.getElementById('keys')
  heading?.scrollIntoView({ block: 'start' })
  heading?.focus()
}
