/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The view as a screen: the VMs of the host, or one VM with its vCPUs and the
 * statistics that move, or help.
 */
#ifndef KVMSTAT_RENDER_SCREEN_H
#define KVMSTAT_RENDER_SCREEN_H

#include "render/screen.h"
#include "render/view.h"

/* Fills all of the screen; scrolls the view so that what is selected can be seen. */
void render_screen(struct screen *screen, struct view *view);

#endif /* KVMSTAT_RENDER_SCREEN_H */
